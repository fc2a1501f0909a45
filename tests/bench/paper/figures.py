"""Tables (Markdown) and pictures (SVG) of rskpca.py: lines with their standard errors over ell."""
import html
import json
import pathlib

import numpy as np

COLOURS = {
    "shadow": "#0b62a4", "uniform": "#a0a0a0", "nystrom": "#d1495b", "wnystrom": "#edae49", "kmeans": "#66a182", "paring": "#8d6a9f",
    "herding": "#2e4057", "rpcholesky": "#c26a2e", "kpca": "#000000",
}
WIDTH, HEIGHT, LEFT, TOP, RIGHT, BOTTOM = 360, 250, 58, 30, 12, 42


def nice_ticks(low, high, count=5):
    span = high - low or abs(high) or 1
    step = 10 ** np.floor(np.log10(span / count))
    step *= next(factor for factor in (1, 2, 5, 10) if span / (step * factor) <= count)
    first = np.ceil(low / step - 1e-9) * step
    return [float(first + k * step) for k in range(int((high - first) / step + 1e-9) + 1)]


def panel(title, axis, ells, lines, log=False):
    """lines: {method: [(mean, standard error) for each ell]}"""
    values = np.array([[point for point in line] for line in lines.values()])
    low, high = (values[..., 0] - values[..., 1]).min(), (values[..., 0] + values[..., 1]).max()
    if log:
        low, high = np.log10(max(values[..., 0].min() / 1.2, 1e-12)), np.log10(high * 1.2)
    elif low > 0 and low < 0.4 * high:
        low = 0.0
    high = high if high > low else low + 1
    x_low, x_high = min(ells), max(ells) if max(ells) > min(ells) else min(ells) + 1

    def at(ell, value):
        height = (np.log10(max(value, 1e-12)) if log else value) - low
        return (LEFT + (ell - x_low) / (x_high - x_low) * (WIDTH - LEFT - RIGHT),
                HEIGHT - BOTTOM - height / (high - low) * (HEIGHT - TOP - BOTTOM))

    out = [f'<text x="{WIDTH / 2:.0f}" y="16" text-anchor="middle" font-weight="bold">{html.escape(title)}</text>',
           f'<text x="{(LEFT + WIDTH - RIGHT) / 2:.0f}" y="{HEIGHT - 8}" text-anchor="middle">{html.escape(axis)}</text>']
    ticks = [10.0**k for k in range(int(np.floor(low)), int(np.ceil(high)) + 1) if low - 1e-9 <= k <= high + 1e-9] if log else nice_ticks(low, high)
    for tick in ticks or [10**low, 10**high]:
        y = at(x_low, tick)[1]
        out.append(f'<line x1="{LEFT}" x2="{WIDTH - RIGHT}" y1="{y:.1f}" y2="{y:.1f}" stroke="#e4e4e4"/>')
        out.append(f'<text x="{LEFT - 5}" y="{y + 4:.1f}" text-anchor="end">{tick:.3g}</text>')
    for tick in nice_ticks(x_low, x_high, 4):
        x = at(tick, 1 if log else low)[0]
        out.append(f'<text x="{x:.1f}" y="{HEIGHT - BOTTOM + 15}" text-anchor="middle">{tick:g}</text>')
    out.append(f'<path d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}" fill="none" stroke="#444"/>')
    for name, line in lines.items():
        points = [at(ell, value) for ell, (value, _) in zip(ells, line)]
        colour, wide = COLOURS[name], 2.4 if name == "shadow" else 1.4
        for ell, (value, error) in zip(ells, line):
            (x, below), (_, above) = at(ell, value - error), at(ell, value + error)
            out.append(f'<line x1="{x:.1f}" x2="{x:.1f}" y1="{below:.1f}" y2="{above:.1f}" stroke="{colour}" opacity="0.5"/>')
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
        out.append(f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="{wide}"/>')
        out += [f'<circle cx="{x:.1f}" cy="{y:.1f}" r="2.2" fill="{colour}"/>' for x, y in points]
    return "\n".join(out)


def save(path, panels, names):
    columns = min(len(panels), 2)
    rows = (len(panels) + columns - 1) // columns
    width, height = columns * WIDTH, rows * HEIGHT + 26
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" height="{height}" viewBox="0 0 {width} {height}" '
           'font-family="sans-serif" font-size="11"><rect width="100%" height="100%" fill="white"/>']
    for k, one in enumerate(panels):
        out.append(f'<g transform="translate({k % columns * WIDTH} {k // columns * HEIGHT})">{one}</g>')
    for k, name in enumerate(names):
        x, y = 16 + k * (width - 20) / len(names), height - 10
        out.append(f'<line x1="{x:.0f}" x2="{x + 16:.0f}" y1="{y - 4}" y2="{y - 4}" stroke="{COLOURS[name]}" stroke-width="3"/>'
                   f'<text x="{x + 20:.0f}" y="{y}">{name}</text>')
    path.write_text("\n".join(out) + "\n</svg>\n")


def of_runs(results, methods, what):
    """{method: [(mean, standard error of the mean)]} over ell, ascending"""
    out = {}
    for method in methods:
        out[method] = []
        for ell in sorted(results):
            values = [run[what] for run in results[ell][method]]
            error = np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
            out[method].append((float(np.mean(values)), float(error)))
    return out


def table(path, title, note, results, methods, whats):
    rows = [f"# {title}", "", note, "", "| ell | method | " + " | ".join(whats) + " |", "| --- " * (2 + len(whats)) + "|"]
    figures_of = {what: of_runs(results, methods, what) for what in whats}
    for k, ell in enumerate(sorted(results)):
        for method in methods:
            cells = [f"{figures_of[w][method][k][0]:.4g} +- {figures_of[w][method][k][1]:.2g}" for w in whats]
            rows.append(f"| {ell:g} | {method} | " + " | ".join(cells) + " |")
    path.write_text("\n".join(rows) + "\n")


def remember_retained(out, name, results):
    path = out / "retained.json"
    known = json.loads(path.read_text()) if path.exists() else {}
    known[name] = [[ell, *pair] for ell, pair in zip(sorted(results), of_runs(results, ["shadow"], "retained")["shadow"])]
    path.write_text(json.dumps(known))


def eigen(out, figure, name, results, digest, count):
    methods, ells = list(results[min(results)]), sorted(results)
    whats = ["embedding", "eigenvalues", "training", "testing", "retained"]
    note = (f"Rows of {name} (digest {digest}), {count} runs, seeds 0 to {count - 1}: errors (Frobenius norm of the aligned scores of the "
            "held-out fifth, l2 norm of the eigenvalues) against kernel PCA of all rows; speed-ups over kernel PCA of the same rows.")
    table(out / f"figure{figure}.md", f"Figure {figure}: eigenembedding, {name}", note, results, methods, whats)
    titles = {"embedding": "error of the embedding", "eigenvalues": "error of the eigenvalues", "training": "training speed-up",
              "testing": "testing speed-up"}
    panels = [panel(f"{name}: {text}", "ell", ells, of_runs(results, methods, what), log="speed" in text) for what, text in titles.items()]
    save(out / f"figure{figure}.svg", panels, methods)
    remember_retained(out, name, results)


def classes(out, figure, name, results, digest, count, rivals):
    methods, ells = ["kpca", "shadow", *rivals], sorted(results)
    whats = ["accuracy", "training", "testing", "retained"]
    note = f"Rows of {name} (digest {digest}), {count} of 10 folds: 3 nearest neighbours among the scores; speed-ups over kernel PCA."
    table(out / f"figure{figure}.md", f"Figure {figure}: classification, {name}", note, results, methods, whats)
    panels = [panel(f"{name}: {what}", "ell", ells, of_runs(results, methods, what), log=what != "accuracy")
              for what in ("accuracy", "training", "testing")]
    save(out / f"figure{figure}.svg", panels, methods)
    remember_retained(out, name, results)


def retained(out):
    path = out / "retained.json"
    if not path.exists():
        return
    known = json.loads(path.read_text())
    panels = [panel(f"{name}: share retained", "ell", [row[0] for row in rows], {"shadow": [(row[1], row[2]) for row in rows]})
              for name, rows in known.items()]
    save(out / "figure6.svg", panels, ["shadow"])
    lines = ["# Figure 6: share of the rows that the shadow retains", "", "| set | ell | share |", "| --- | --- | --- |"]
    lines += [f"| {name} | {row[0]:g} | {row[1]:.3f} +- {row[2]:.2g} |" for name, rows in known.items() for row in rows]
    (out / "figure6.md").write_text("\n".join(lines) + "\n")


def equal(out, rows):
    columns = [key for key in rows[0] if " x " in key]
    lines = ["# Is the shadow better than other rows at equal m?", "",
             "Relative l2 error of the first ten eigenvalues against exact kernel PCA, uncentred; rows weighed by their cells where the lift is "
             "`weighted`.", "", "| set | n | ell | m | " + " | ".join(columns) + " |", "| --- " * (4 + len(columns)) + "|"]
    for row in rows:
        lines.append(f"| {row['set']} | {row['n']} | {row['ell']:g} | {row['m']} | " + " | ".join(f"{row[c]:.2e}" for c in columns) + " |")
    for lift in ("weighted", "projected"):
        for other in ("uniform", "rpcholesky"):
            better = sum(row[f"shadow x {lift}"] < row[f"{other} x {lift}"] for row in rows)
            lines.append(f"\nShadow against {other}, lift {lift}: better in {better} of {len(rows)}.")
    (out / "equal.md").write_text("\n".join(lines) + "\n")
    print((out / "equal.md").read_text())


def cost(out, rows):
    lines = ["# Table 2: exponents of the cost, measured", "", "| method | training over n | training over m | centres kept over n | over m |", "| --- | --- | --- | --- | --- |"]
    lines += [f"| {row['method']} | {row['training over n']:.2f} | {row['training over m']:.2f} | {row['stored over n']:.2f} | {row['stored over m']:.2f} |" for row in rows]
    (out / "table2.md").write_text("\n".join(lines) + "\n")
    print((out / "table2.md").read_text())


def picture(runs, out):
    """Figure 1: two-dimensional data, the centres of their shadow, and the density that these give."""
    numbers = np.random.default_rng(3)
    angle = numbers.uniform(0, 2 * np.pi, 600)
    x = np.stack([np.cos(angle), np.sin(2 * angle) / 2], axis=1) + 0.06 * numbers.standard_normal((600, 2))
    data, model = runs.work / "plane.npy", runs.work / "plane.safetensors"
    np.save(data, x)
    runs.call("fit", data, "--method", "rskpca", "--set", "kernel.sigma=0.2", "--set", "reducer.ell=3", "-o", model)
    runs.call("plot", model, data, "--kind", "density", "-o", out / "figure1.svg")


def verdicts(out, rows, version, full):
    lines = [f"# What reproduces ({version}, {'full' if full else 'quick'} mode)", "", "| claim | paper | here | verdict |", "| --- | --- | --- | --- |"]
    lines += [f"| {claim} | {said} | {found} | {'reproduces' if holds else 'does not'} |" for claim, said, found, holds in rows]
    (out / "verdicts.md").write_text("\n".join(lines) + "\n")
    print("\n".join(lines))
