"""An imputer for pipelines of scikit-learn: gaps of series, filled from what surrounds them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd

from convcnp.errors import SettingError
from convcnp.extras import import_extra
from convcnp.predict.zoo import load

import_extra("sklearn", "sklearn")  # says what is missing before the imports below do

from sklearn.base import BaseEstimator, OneToOneFeatureMixin, TransformerMixin  # noqa: E402
from sklearn.utils.validation import check_is_fitted, validate_data  # noqa: E402

if TYPE_CHECKING:
    from sklearn.utils import Tags

    from convcnp.predict.predictor import Predictor


class ConvCNPImputer(OneToOneFeatureMixin, TransformerMixin, BaseEstimator):  # type: ignore[misc]
    """Fill missing values of series, a column each, with the median of what would be observed.

    Rows are times: those of a DataFrame's index if it holds dates or durations, else evenly spaced.
    Nothing is fitted: every column is predicted from its own observed values. One without any gets
    the median that it had when it was fitted.

    Args:
        model: A shipped model of series, or a run's directory.
        lower: No value is smaller, and none that is filled in.
        upper: No value is larger.

    Example:
        >>> from convcnp.predict import ConvCNPImputer
        >>> gappy = np.sin(np.arange(40) / 4)[:, None]
        >>> gappy[10:13] = np.nan
        >>> full = ConvCNPImputer().fit_transform(gappy)
        >>> bool(np.abs(full[11, 0] - np.sin(11 / 4)) < 0.1)
        True
    """

    def __init__(
        self,
        model: Any = "general",  # noqa: ANN401 - whatever is set is kept, and looked at when used
        *,
        lower: Any = None,  # noqa: ANN401
        upper: Any = None,  # noqa: ANN401
    ) -> None:
        self.model = model
        self.lower = lower
        self.upper = upper

    def fit(self, X: Any, y: Any = None) -> ConvCNPImputer:  # noqa: ANN401 - its own names
        """Take note of the columns and their medians."""
        values = self._values(X, reset=True)
        self.statistics_ = pd.DataFrame(values).median().to_numpy()
        return self

    def transform(self, X: Any) -> np.ndarray:  # noqa: ANN401
        """Return the values with none missing, but in columns that never had any."""
        check_is_fitted(self)
        values = self._values(X, reset=False)
        missing = np.isnan(values)
        if not missing.any():
            return values
        times = _times(X)
        predictor = load(self.model)
        if predictor.model.dim_y != 1 or predictor.model.dim_x != 1:
            raise SettingError(
                f"Expected a model of series of one column each, got {self.model!r}; choose "
                "another, such as 'general'."
            )
        for column in np.flatnonzero(missing.any(0)):
            is_missing = missing[:, column]
            values[is_missing, column] = (
                self.statistics_[column]
                if is_missing.all()
                else self._filled(predictor, times, values[:, column], is_missing)
            )
        return values

    def _filled(
        self, predictor: Predictor, times: np.ndarray, y: np.ndarray, is_missing: np.ndarray
    ) -> np.ndarray:
        answer = predictor.predict(
            (times[~is_missing], y[~is_missing]),
            at=times[is_missing],
            quantiles=[0.5],
            missing="none",
            lower=self.lower,
            upper=self.upper,
        )
        median: np.ndarray = answer["q50"]
        return median

    def _values(self, data: Any, reset: bool) -> np.ndarray:  # noqa: ANN401
        values: np.ndarray = validate_data(
            self, data, reset=reset, dtype=np.float64, ensure_all_finite="allow-nan", copy=True
        )
        return values

    def __sklearn_tags__(self) -> Tags:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags


def _times(data: Any) -> np.ndarray:  # noqa: ANN401
    """Return the times of rows: dates or durations of an index, or the number of the row."""
    index = getattr(data, "index", None)
    if isinstance(index, pd.DatetimeIndex | pd.TimedeltaIndex):
        return index.to_numpy()
    return np.arange(float(len(data) if hasattr(data, "__len__") else data.shape[0]))
