# For scripts that read MNIST's files: to be sourced.

# idx_files DIR PATTERN: the files in DIR that fit the pattern, gzipped or not, as convert_mnist_data
# takes them: several follow one another in the order of their names. Empty if there is none.
idx_files() { find -L "$1" -maxdepth 1 -name "$2" 2> /dev/null | LC_ALL=C sort | paste -sd, -; }
