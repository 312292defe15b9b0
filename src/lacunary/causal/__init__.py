"""What would happen if something were set: adjustment, identification, effects and their ranges."""
