from invoices import settings


def gross(net_cents):
    return net_cents + round(net_cents * settings.tax_per_cent / 100)


def total(items):
    return sum(gross(net_cents) for _, net_cents in items)
