class Account:
    _opened = []

    def __init__(self, owner):
        self.owner = owner
        self.cents = 0

    @classmethod
    def open(cls, owner):
        cls._opened.append(owner)
        return cls(owner)

    @classmethod
    def number(cls):
        return len(cls._opened)

    def pay_in(self, cents):
        if cents <= 0:
            raise ValueError("nothing is paid in")
        self.cents += cents
