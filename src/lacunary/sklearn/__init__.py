"""The same models as scikit-learn estimators, for pipelines, cross-validation and grid search.

Cells may be missing anywhere, in ``fit`` and after: NaN, None and the marks of `lacunary.read` are holes.
Columns of arrays are called x0, x1, …, as scikit-learn does; those of frames keep their names.
"""

from importlib.util import find_spec

if find_spec("sklearn") is None:
    raise ImportError("this needs scikit-learn: pip install 'lacunary[sklearn]'")

from lacunary.sklearn.classes import LatentClassModel
from lacunary.sklearn.classifier import BayesianNetworkModel
from lacunary.sklearn.imputer import NetworkImputer
from lacunary.sklearn.mixtures import MixtureOfDags
from lacunary.sklearn.regressor import NetworkRegressor

__all__ = ["BayesianNetworkModel", "LatentClassModel", "MixtureOfDags", "NetworkImputer", "NetworkRegressor"]
