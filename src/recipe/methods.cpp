#include "methods.h"

namespace mercer {

const std::vector<Method> &methods() {
    static const std::vector<Method> table = {
        {"kpca", "all", "weighted", "exact kernel PCA", "Schoelkopf, Smola and Mueller 1998"},
        {"auto", "all", "projected",
         "the cheapest way to a requested accuracy: chooses the number of landmarks, or exact, and certifies the error",
         "Chen, Epperly, Tropp and Webber 2023"},
        {"nystrom", "uniform", "projected", "kernel PCA of all rows on the span of randomly chosen landmarks",
         "Williams and Seeger 2001, m-only and centred"},
        {"gkpca", "greedy", "projected", "kernel PCA of all rows on the span of greedily chosen landmarks",
         "Franc and Hlavac 2003"},
        {"nystrom-full", "uniform", "extended", "the Nystrom method that keeps all rows as centres",
         "Williams and Seeger 2001"},
        {"subsampled", "uniform", "weighted", "kernel PCA of a random subset of the rows", "Freedman and Kisilev 2010"},
        {"diffusion", "all", "manifold", "diffusion maps: coordinates from a random walk between the rows",
         "Coifman and Lafon 2006"},
        {"laplacian-eigenmaps", "all", "manifold", "the smoothest functions on the neighbourhood graph of the rows",
         "Belkin and Niyogi 2003"},
        {"ncut", "all", "manifold", "spectral clustering by normalised cuts, with labels for new rows",
         "Shi and Malik 2000; Ng, Jordan and Weiss 2002"},
        {"rskpca", "shadow", "weighted", "reduced-set kernel PCA on the shadow of the data",
         "Kingravi, Vela and Gray 2013"},
        {"rskpca-kmeans", "kmeans", "weighted", "reduced-set kernel PCA on cluster means, weighted by their sizes",
         "Zhang and Kwok 2010"},
        {"rskpca-paring", "uniform", "weighted",
         "reduced-set kernel PCA on random rows, weighted by the number of rows nearest to each",
         "Freedman and Kisilev 2010", "voronoi"},
        {"rskpca-herding", "herding", "weighted",
         "reduced-set kernel PCA on rows chosen to match the mean in feature space", "Chen, Welling and Smola 2010"},
        {"wnystrom", "kmeans", "extended",
         "the Nystrom method on cluster means, weighted by their sizes; keeps all rows as centres",
         "Zhang and Kwok 2010"},
    };
    return table;
}

} // namespace mercer
