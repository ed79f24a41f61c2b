from pathlib import Path

from shop import mail

# Every run has the next seed, so that a bad day can be told by its number. The tour begins with one.
next_seed = Path(__file__).with_name("next_seed")
seed = int(next_seed.read_text())
next_seed.write_text("%d\n" % (seed + 1))
mail.chance.seed(seed)
