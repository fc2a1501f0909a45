"""Tables in Markdown, and means of runs with their standard errors."""
import numpy as np


def write(path, title, note, columns, rows, after=()):
    lines = [f"# {title}", "", note, "", "| " + " | ".join(columns) + " |", "| --- " * len(columns) + "|"]
    lines += ["| " + " | ".join(map(str, row)) + " |" for row in rows]
    path.write_text("\n".join([*lines, *after]) + "\n")


def about(name, x, mark):
    """Returns the words by which a table describes its data."""
    return f"{len(x)} x {x.shape[1]} rows of {name} (digest {mark})"


def mean(values):
    """(mean, its standard error)"""
    error = np.std(values, ddof=1) / np.sqrt(len(values)) if np.ptp(values) > 0 else 0.0
    return float(np.mean(values)), float(error)


def means(results, methods, what):
    """{method: [(mean, standard error) for each ell, ascending]}"""
    ells = sorted(results)
    return {method: [mean([run[what] for run in results[ell][method]]) for ell in ells] for method in methods}


def by_ell(path, title, note, results, whats, methods=None):
    """Writes a table with a line for each ell and method."""
    methods = methods or list(results[min(results)])
    figures = {what: means(results, methods, what) for what in whats}
    rows = [[f"{ell:g}", method, *("{:.4g} +- {:.2g}".format(*figures[what][method][k]) for what in whats)]
            for k, ell in enumerate(sorted(results)) for method in methods]
    write(path, title, note, ["ell", "method", *whats], rows)
