def elect(nodes):
    """Everybody comes to the same result without a word: the lowest address leads."""
    leader = min(nodes, key=lambda node: node.address)
    for node in nodes:
        node.role = "leader" if node is leader else "follower"
    return leader
