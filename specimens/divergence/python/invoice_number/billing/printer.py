import time


def render(customer, amount):
    # What the typesetter takes for a page.
    time.sleep(0.012)
    return "%s owes %.2f" % (customer, amount)
