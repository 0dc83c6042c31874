"""The papers that modicum implements, by key, and an index of the files that cite them.

Modules cite papers by key in their docstrings; the index is generated from these.
"""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

PAPERS = {
    "allen1974": "Allen. The relationship between variable selection and data augmentation and a method for "
    "prediction. Technometrics 16(1), 1974.",
    "arthur2007": "Arthur, Vassilvitskii. k-means++: the advantages of careful seeding. SODA 2007.",
    "asuncion2009": "Asuncion, Welling, Smyth, Teh. On smoothing and inference for topic models. UAI 2009.",
    "bachem2018": "Bachem, Lucic, Krause. Scalable k-means clustering via lightweight coresets. KDD 2018.",
    "badanidiyuru2014": "Badanidiyuru, Mirzasoleiman, Karbasi, Krause. Streaming submodular maximization. KDD 2014.",
    "bardenet2015": "Bardenet, Maillard. Concentration inequalities for sampling without replacement. Bernoulli 2015.",
    "bifet2007": "Bifet, Gavaldà. Learning from time-changing data with adaptive windowing. SDM 2007.",
    "bifet2009": "Bifet et al. New ensemble methods for evolving data streams. KDD 2009.",
    "blei2006": "Blei, Jordan. Variational inference for Dirichlet process mixtures. Bayesian Analysis 1(1), 2006.",
    "bordes2005": "Bordes et al. Fast kernel classifiers with online and active learning. JMLR 6, 2005.",
    "breiman1984": "Breiman, Friedman, Olshen, Stone. Classification and regression trees. Wadsworth, 1984.",
    "bui2017": "Bui, Nguyen, Turner. Streaming sparse Gaussian process approximations. NIPS 2017.",
    "buschjager2021": "Buschjäger et al. Very fast streaming submodular function maximization. ECML PKDD 2021.",
    "cochran1977": "Cochran. Sampling techniques. Wiley, third edition, 1977.",
    "cohen2007": "Cohen, Kaplan. Summarizing data using bottom-k sketches. PODC 2007.",
    "cormode2009": "Cormode, Shkapenyuk, Srivastava, Xu. Forward decay: a practical time decay model for streaming "
    "systems. ICDE 2009.",
    "crammer2006": "Crammer, Dekel, Keshet, Shalev-Shwartz, Singer. Online passive-aggressive algorithms. JMLR 2006.",
    "crammer2009": "Crammer, Kulesza, Dredze. Adaptive regularization of weight vectors. NIPS 2009.",
    "csato2002": "Csató, Opper. Sparse on-line Gaussian processes. Neural Computation 14(3), 2002.",
    "dasgupta2009": "Dasgupta. Online clustering. Lecture notes, CSE 291, UC San Diego, 2009.",
    "dawid1984": "Dawid. Statistical theory: the prequential approach. JRSS A 147(2), 1984.",
    "dempster1977": "Dempster, Laird, Rubin. Maximum likelihood from incomplete data via EM. JRSS B 39(1), 1977.",
    "dredze2008": "Dredze, Crammer, Pereira. Confidence-weighted linear classification. ICML 2008.",
    "efraimidis2006": "Efraimidis, Spirakis. Weighted random sampling with a reservoir. IPL 97(5), 2006.",
    "engel2004": "Engel, Mannor, Meir. The kernel recursive least-squares algorithm. IEEE TSP 52(8), 2004.",
    "fearnhead2004": "Fearnhead. Particle filters for mixture models with an unknown number of components. 2004.",
    "feldman2011": "Feldman, Langberg. A unified framework for approximating and clustering data. STOC 2011.",
    "feldmanfaulkner2011": "Feldman, Faulkner, Krause. Scalable training of mixture models via coresets. NIPS 2011.",
    "fischer2003": "Fischer, Gärtner. The smallest enclosing ball of balls. SoCG 2003.",
    "friedman1991": "Friedman. Multivariate adaptive regression splines. Annals of Statistics 19(1), 1991.",
    "gama2013": "Gama, Sebastião, Rodrigues. On evaluating stream learning algorithms. Machine Learning 90, 2013.",
    "golub1979": "Golub, Heath, Wahba. Generalized cross-validation. Technometrics 21(2), 1979.",
    "gomes2008": "Gomes, Welling, Perona. Incremental learning of nonparametric Bayesian mixture models. CVPR 2008.",
    "gomes2008topics": "Gomes, Welling, Perona. Memory bounded inference in topic models. ICML 2008.",
    "gomes2010": "Gomes, Krause. Budgeted nonparametric learning from data streams. ICML 2010.",
    "gomes2011": "Gomes, Welinder, Krause, Perona. Crowdclustering. NIPS 2011; chapter 7 of Gomes' thesis, Caltech.",
    "gomes2010rim": "Gomes, Krause, Perona. Discriminative clustering by regularized information maximization. 2010.",
    "guo2017": "Guo, Pleiss, Sun, Weinberger. On calibration of modern neural networks. ICML 2017.",
    "halko2011": "Halko, Martinsson, Tropp. Finding structure with randomness. SIAM Review 53(2), 2011.",
    "harpeled2004": "Har-Peled, Mazumdar. On coresets for k-means and k-median clustering. STOC 2004.",
    "hoeffding1963": "Hoeffding. Probability inequalities for sums of bounded random variables. JASA 58, 1963.",
    "hulten2001": "Hulten, Spencer, Domingos. Mining time-changing data streams. KDD 2001.",
    "kazemi2019": "Kazemi et al. Submodular streaming in all its glory. ICML 2019.",
    "kurihara2007": "Kurihara, Welling, Vlassis. Accelerated variational Dirichlet process mixtures. NIPS 19, 2007.",
    "lange1989": "Lange, Little, Taylor. Robust statistical modeling using the t distribution. JASA 84(408), 1989.",
    "lucic2015": "Lucic et al. Tradeoffs for space, time, data and risk in unsupervised learning. AISTATS 2015.",
    "macqueen1967": "MacQueen. Some methods for classification and analysis of multivariate observations. 1967.",
    "manku1998": "Manku, Rajagopalan, Lindsay. Approximate medians in one pass with limited memory. SIGMOD 1998.",
    "marchenko1967": "Marchenko, Pastur. Distribution of eigenvalues for some sets of random matrices. Mathematics of "
    "the USSR-Sbornik 1(4), 1967.",
    "maron1994": "Maron, Moore. Hoeffding races: accelerating model selection search. NIPS 1994.",
    "minka2000": "Minka. Estimating a Dirichlet distribution. Technical report, MIT, 2000.",
    "neal1998": "Neal, Hinton. A view of the EM algorithm that justifies incremental and other variants. 1998.",
    "minoux1978": "Minoux. Accelerated greedy algorithms for maximizing submodular set functions. 1978.",
    "mirzasoleiman2013": "Mirzasoleiman et al. Distributed submodular maximization. NIPS 2013.",
    "montiel2021": "Montiel et al. River: machine learning for streaming data in Python. JMLR 22, 2021.",
    "quinonero2005": "Quiñonero-Candela, Rasmussen. A unifying view of sparse approximate GP regression. JMLR 6, 2005.",
    "rahimi2007": "Rahimi, Recht. Random features for large-scale kernel machines. NIPS 2007.",
    "rai2009": "Rai, Daumé III, Venkatasubramanian. Streamed learning: one-pass SVMs. IJCAI 2009.",
    "rasmussen2006": "Rasmussen, Williams. Gaussian processes for machine learning. MIT Press, 2006.",
    "schlegel2017": "Schlegel et al. Adapting kernel representations online using submodular maximization. ICML 2017.",
    "schubert2021": "Schubert, Rousseeuw. Fast and eager k-medoids clustering. Information Systems 101, 2021.",
    "seeger2003": "Seeger, Williams, Lawrence. Fast forward selection to speed up sparse GP regression. AISTATS 2003.",
    "shalevshwartz2007": "Shalev-Shwartz, Singer, Srebro. Pegasos: primal estimated sub-gradient solver. ICML 2007.",
    "shervashidze2011": "Shervashidze et al. Weisfeiler-Lehman graph kernels. JMLR 12, 2011.",
    "sievert2014": "Sievert, Shirley. LDAvis: a method for visualizing and interpreting topics. ACL workshop, 2014.",
    "smola2000": "Smola, Bartlett. Sparse greedy Gaussian process regression. NIPS 2000.",
    "street2001": "Street, Kim. A streaming ensemble algorithm (SEA) for large-scale classification. KDD 2001.",
    "titsias2009": "Titsias. Variational learning of inducing variables in sparse Gaussian processes. AISTATS 2009.",
    "tsang2005": "Tsang, Kwok, Cheung. Core vector machines: fast SVM training on very large data sets. JMLR 6, 2005.",
    "ueda2000": "Ueda, Nakano, Ghahramani, Hinton. SMEM algorithm for mixture models. Neural Computation 12, 2000.",
    "tukey1962": "Tukey. The future of data analysis. Annals of Mathematical Statistics 33(1), 1962.",
    "vanvaerenbergh2010": "Van Vaerenbergh et al. Fixed-budget kernel recursive least-squares. ICASSP 2010.",
    "vanvaerenbergh2012": "Van Vaerenbergh et al. Kernel recursive least-squares tracker. IEEE TNNLS 23(8), 2012.",
    "vaswani2019": "Vaswani et al. Painless stochastic gradient: interpolation, line-search, and rates. NeurIPS 2019.",
    "weinberger2009": "Weinberger et al. Feature hashing for large scale multitask learning. ICML 2009.",
    "zarrabizadeh2006": "Zarrabi-Zadeh, Chan. A simple streaming algorithm for minimum enclosing balls. CCCG 2006.",
}
KEY = re.compile(r"\b[a-z]{3,}(?:18|19|20)\d\d[a-z]*\b")


def index() -> dict[str, dict[str, list[str]]]:
    """For every paper the files that cite it, with the public classes in them that do."""
    root = Path(__file__).parent
    found: dict[str, dict[str, list[str]]] = {key: {} for key in PAPERS}
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root).as_posix()
        if name == "papers.py" or name.startswith("checks/"):
            continue
        for owner, text in _docstrings(path):
            for key in set(KEY.findall(text)):
                classes = found.setdefault(key, {}).setdefault(name, [])
                if owner and not owner.startswith("_"):
                    classes.append(owner)
    return found


def as_markdown() -> str:
    """The index as a Markdown page."""
    lines = ["# Papers", "", "Which file implements which paper. Generated by `modicum papers`.", ""]
    found = index()
    for key in sorted(found.keys() - PAPERS.keys()):
        raise ValueError(f"{', '.join(found[key])}: {key} is not in PAPERS, in papers.py.")
    for key, files in sorted(found.items()):
        lines += [f"**{key}**: {PAPERS[key]}", ""]
        for name, classes in files.items():
            lines.append(f"- `src/modicum/{name}`" + (f": {', '.join(f'`{c}`' for c in classes)}" if classes else ""))
        lines.append("")
    return "\n".join(lines)


def _docstrings(path: Path) -> Iterator[tuple[str, str]]:
    """(class name or "", docstring) of a module and its classes."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    yield "", ast.get_docstring(tree) or ""
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            yield node.name, ast.get_docstring(node) or ""
