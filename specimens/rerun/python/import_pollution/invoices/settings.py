tax_per_cent = 19
