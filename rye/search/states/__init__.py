"""What an item is beside its words: its verdict, its relations and successor, and the copies that hide it."""
