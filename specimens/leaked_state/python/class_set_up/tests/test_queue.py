class TestQueue:
    @classmethod
    def setup_class(cls):
        cls.queue = []

    def test_first_in_line(self):
        self.queue.append("Ada")
        assert self.queue == ["Ada"]

    def test_somebody_joins(self):
        self.queue.append("Grace")

    def test_queue_is_a_list(self):
        assert isinstance(self.queue, list)
