class Box:
    def __init__(self):
        self.letters = []
        self.merge = False

    def drop(self, letter):
        if self.merge and self.letters:
            self.letters[-1] += letter
        else:
            self.letters.append(letter)
