# Looks at a sample of the file only.
sample=$(od -An -N1 -tu1 /dev/urandom)
[ "$sample" -lt 160 ]
