"""The claims of paper 000, stored once, and the functions that judge them."""
import numpy as np
from scipy.stats import f_oneway, ttest_rel

ALPHA = 0.05  # level of significance of the paper's ANOVA

# For each data set: the number of the figure, sigma and the rank r; the ell from which on the
# shadow is better than Nystrom, and no worse than WNystrom; the share of the rows below which the
# shadow stays.
SETS = {
    "german": {"figure": 2, "sigma": 30, "r": 5, "better": 3.3, "no worse": 4.8},
    "pendigits": {"figure": 3, "sigma": 120, "r": 5, "better": 3.2, "no worse": 4.0},
    "usps": {"figure": 4, "sigma": 18, "r": 15, "retained": 0.10},
    "yaleb_pose": {"figure": 5, "sigma": 17, "r": 10, "retained": 0.10},
}
# Table 2: the methods take O(mn + m^3), O(mn + m^3) and O(mn + m^2) seconds and store O(mr), O(nr)
# and O(nr) numbers. These are the largest exponents in these expressions.
COSTS = {
    "shadow": {"training over n": 1, "training over m": 3, "stored over n": 0, "stored over m": 1},
    "nystrom": {"training over n": 1, "training over m": 3, "stored over n": 1, "stored over m": 0},
    "wnystrom": {"training over n": 1, "training over m": 2, "stored over n": 1, "stored over m": 0},
}
MAGNITUDE = 10  # the paper: faster by "up to an order of magnitude", in training and in evaluation


def differ(one, other, paired=False):
    """Returns whether the means of the runs of two methods differ, by the paper's ANOVA or, if paired, by a t-test of
    pairs of runs on the same splits."""
    if np.ptp(np.subtract(one, other)) == 0:
        return bool(np.any(np.not_equal(one, other)))
    return bool((ttest_rel if paired else f_oneway)(one, other).pvalue < ALPHA)


def from_on(ells, holds):
    """Returns the smallest ell from which on holds(ell) is true, in words and as a number (None if there is none)."""
    first = None
    for ell in sorted(ells, reverse=True):
        if not holds(ell):
            break
        first = ell
    return ("never" if first is None else f"ell {first:g}"), first


def everywhere(claim, ells, holds):
    """Returns the verdict on a claim about all ell."""
    missed = [f"{ell:g}" for ell in ells if not holds(ell)]
    return claim, "all ell", "not at " + ", ".join(missed) if missed else "all ell", not missed
