"""Small trainings of many kinds, each a second or two on one core, logged in many styles, healthy or with one fault."""
