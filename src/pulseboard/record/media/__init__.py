"""media: histograms, images, audio, video, figures, graphs and embeddings, encoded for event files."""
