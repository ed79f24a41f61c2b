import os
from pathlib import Path

from shop import mail

# Every run uses the next seed, so that a failing run has a number. The first seed makes a test fail.
next_seed = Path(__file__).with_name("next_seed")
seed = int(next_seed.read_text())
# Another run may read the file at this moment.
new = next_seed.with_name("next_seed.%d" % os.getpid())
new.write_text("%d\n" % (seed + 1))
os.replace(new, next_seed)
mail.chance.seed(seed)
