from pay import gateway


def pay(cents):
    if cents <= 0:
        return "nothing to pay"
    return gateway.send({"amount": cents})
