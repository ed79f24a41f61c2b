from shop import mail

# Chance as it fell on a bad day, so that the tour goes the same way every time.
mail.chance.seed(103)
