"""Draw coherent curves through a gap, ask them what no single prediction tells, and keep score."""

import numpy as np

import convcnp

random = np.random.default_rng(1)
time = np.arange(120.0)
value = np.sin(2 * np.pi * time / 24) + 0.1 * random.normal(size=120)
is_gap = (time >= 50) & (time < 58)
observed, held_out = (time[~is_gap], value[~is_gap]), (time[is_gap], value[is_gap])

general = convcnp.load("general")
curves = general.sample(observed, at=time[is_gap], samples=40)
highest = [curve.max() for name, curve in curves.items() if name != "time"]
low, high = np.quantile(highest, [0.05, 0.95])
print(f"The highest value in the gap: {held_out[1].max():.2f}, expected {low:.2f} to {high:.2f}.")

score = general.score(observed, held_out)["value0"]
print(
    f"{score['values']} held-out values: log-likelihood {score['log_likelihood']:.2f} each, "
    f"CRPS {score['crps']:.3f}, {score['coverage90']:.0%} inside the 90 % band."
)
