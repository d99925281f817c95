"""An environment of one's own: 40 lines, five methods, nothing of AutoContext's."""

ROOMS = {
    "hall": "You are in the hall. Stairs lead down, a gate stands in the north.",
    "cellar": "You are in the cellar. There is a chest. Stairs lead up.",
    "garden": "You are in the garden. There is a well.",
}


class House:
    """A cellar with a chest, a locked garden, and nothing but text."""

    def __init__(self):
        self.reset()

    def reset(self):
        self.room, self.open, self.key = "hall", False, False
        return ROOMS[self.room]

    def step(self, action):
        match (self.room, action):
            case ("hall", "go down"):
                self.room = "cellar"
            case ("cellar", "go up") | ("garden", "go south"):
                self.room = "hall"
            case ("cellar", "open chest"):
                self.open = True
                return "The chest is open; a key lies in it."
            case ("cellar", "take key") if self.open:
                self.key = True
                return "Taken."
            case ("hall", "go north") if self.key:
                self.room = "garden"
            case ("hall", "go north"):
                return "The gate is locked."
            case _:
                return "That does nothing."
        return ROOMS[self.room]

    def snapshot(self):
        return self.room, self.open, self.key

    def restore(self, snapshot):
        self.room, self.open, self.key = snapshot

    def close(self):
        pass

    def suggest(self, path):
        return ["go up", "go down", "go north", "go south", "open chest", "take key"]
