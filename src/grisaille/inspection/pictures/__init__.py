"""Pictures of a study, drawn with Matplotlib from what the other files of this room work out."""
