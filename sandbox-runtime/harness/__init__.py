"""The bridge's side of the sandbox: what runs before, around and after the guest's code. Standard library only."""
