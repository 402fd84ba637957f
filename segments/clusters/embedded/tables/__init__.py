"""Tables and schemas of the embedded cluster: config, ideal state and broker row are born in one transaction."""
