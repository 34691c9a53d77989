"""The wire: what passes between agents and models, seen by a relay on the loopback interface of this machine."""
