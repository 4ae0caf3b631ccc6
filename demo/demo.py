"""Fill the gaps of two real series with a model that ships with the package, and draw them."""

from pathlib import Path

import torch

import convcnp
from convcnp.cli.predict import predict_file
from convcnp.frames.reading import read_table

CO2 = Path(__file__).parent.parent / "examples" / "co2.csv"
ANIMALS = Path(convcnp.__file__).parent / "data" / "lynx_hare.csv"
TAKEN = range(1881, 1899)  # years that are taken out of the lynx and hare series
OUT = Path("out")


def main() -> None:
    """Predict, and leave tables and pictures in out/."""
    torch.set_num_threads(1)
    OUT.mkdir(exist_ok=True)
    print("Carbon dioxide at Mauna Loa, with the weeks that were never measured:")
    predict_file(str(CO2), out=OUT / "co2.csv", plot=OUT / "co2.png", say=print)
    print("Hare and lynx of the Hudson's Bay, with eighteen years taken away:")
    animals = read_table(ANIMALS).frame
    animals.loc[animals["year"].isin(TAKEN), ["hare", "lynx"]] = float("nan")
    animals.to_csv(OUT / "lynx-hare-given.csv", index=False)
    predict_file(
        str(OUT / "lynx-hare-given.csv"),
        out=OUT / "lynx-hare.csv",
        plot=OUT / "lynx-hare.png",
        samples=3,
        say=print,
    )


if __name__ == "__main__":
    main()
