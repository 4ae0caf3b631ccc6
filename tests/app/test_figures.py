import io

import pytest
from PIL import Image

from convcnp.app.figures import figure
from convcnp.predict.zoo import load


@pytest.mark.parametrize(
    "name",
    [
        *("eq-convcnp", "sawtooth-attncnp", "general-convcnp", "lotka-volterra-broad-convcnp"),
        *("plasticc-convcnpxl", "mnist-eq", "mnist-attncnp", "celeba32-convcnp-long"),
    ],
)
def test_every_kind_of_model_has_its_figure(name):
    picture = Image.open(io.BytesIO(figure(load(name)))).convert("RGB")
    assert picture.width > 400
    assert len(picture.getcolors(2**24)) > 20  # something is drawn


def test_the_figure_comes_by_name(visitor):
    answer = visitor.get("/api/models/eq-convcnp/figure.png")
    assert answer.content.startswith(b"\x89PNG")
    assert visitor.get("/api/models/nothing/figure.png").status == 422
