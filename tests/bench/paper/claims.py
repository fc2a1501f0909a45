"""What paper 000 says, stored once, and how a claim of it is judged."""
import numpy as np
from scipy.stats import f_oneway, ttest_rel

ALPHA = 0.05  # of the paper's ANOVA

# Figures, widths and ranks; from which ell on the shadow is better than Nystrom, and no worse than WNystrom; below which share of
# the rows it stays.
SETS = {
    "german": {"figure": 2, "sigma": 30, "r": 5, "better": 3.3, "no worse": 4.8},
    "pendigits": {"figure": 3, "sigma": 120, "r": 5, "better": 3.2, "no worse": 4.0},
    "usps": {"figure": 4, "sigma": 18, "r": 15, "retained": 0.10},
    "yaleb_pose": {"figure": 5, "sigma": 17, "r": 10, "retained": 0.10},
}
# Table 2: seconds are O(mn + m^3), O(mn + m^3), O(mn + m^2), numbers stored O(mr), O(nr), O(nr). The largest exponents of that.
COSTS = {
    "shadow": {"training over n": 1, "training over m": 3, "stored over n": 0, "stored over m": 1},
    "nystrom": {"training over n": 1, "training over m": 3, "stored over n": 1, "stored over m": 0},
    "wnystrom": {"training over n": 1, "training over m": 2, "stored over n": 1, "stored over m": 0},
}
MAGNITUDE = 10  # "up to an order of magnitude", in training and in evaluation


def differ(one, other, paired=False):
    """Whether the means of two methods' runs differ: by the paper's test, or by that of runs on the same splits."""
    if np.ptp(np.subtract(one, other)) == 0:
        return bool(np.any(np.not_equal(one, other)))
    return bool((ttest_rel if paired else f_oneway)(one, other).pvalue < ALPHA)


def from_on(ells, holds):
    """The smallest ell from which on it holds, in words and as a number; None: not even at the last."""
    first = None
    for ell in sorted(ells, reverse=True):
        if not holds(ell):
            break
        first = ell
    return ("never" if first is None else f"ell {first:g}"), first


def everywhere(claim, ells, holds):
    """A verdict on what is claimed of all ell."""
    missed = [f"{ell:g}" for ell in ells if not holds(ell)]
    return claim, "all ell", "not at " + ", ".join(missed) if missed else "all ell", not missed
