# How the unit tests are built and run with sanitizers; sourced with the root as $root.

# The compiler for WHAT, a list of sanitizers with commas: ThreadSanitizer follows Clang's OpenMP, not
# GCC's, of which it would report every loop.
sanitizer_compiler() {
  case $1 in
    *thread*) echo "${CXX:-clang++}" ;;
    *) echo "${CXX:-c++}" ;;
  esac
}

# why_unsanitized WHAT: why programs with OpenMP and these sanitizers cannot be built and run here;
# nothing, if they can.
why_unsanitized() {
  local compiler folder
  compiler=$(sanitizer_compiler "$1")
  folder=$(mktemp -d)
  echo 'int main() {}' > "$folder/probe.cpp"
  if ! command -v "$compiler" > /dev/null; then
    echo "$compiler was not found"
  elif ! "$compiler" -fopenmp -fsanitize="$1" "$folder/probe.cpp" -o "$folder/probe" \
    > "$folder/out.txt" 2>&1; then
    echo "$compiler does not link with -fopenmp -fsanitize=$1: $(head -n 1 "$folder/out.txt")"
  elif ! "$folder/probe" > "$folder/out.txt" 2>&1; then
    # Older runtimes have no room where the kernel spreads addresses widely.
    echo "a program with -fsanitize=$1 does not run: $(head -n 1 "$folder/out.txt")"
  fi
  rm -rf "$folder"
}

# sanitizer_options WHAT: adds what to configure to the array "options". Kernels for this processor alone
# and files in one piece make the build short.
sanitizer_options() {
  local compiler
  compiler=$(sanitizer_compiler "$1")
  options+=(-DSANITIZE="$1" -DCMAKE_CXX_COMPILER="$compiler" -DCMAKE_BUILD_TYPE=RelWithDebInfo
    -DCMAKE_CXX_FLAGS_RELWITHDEBINFO="-O1 -g1" -DCAFFE_PCH=ON -DCAFFE_UNITY=ON
    -DCAFFE_CPU_KERNELS=NATIVE -DUSE_CUDA=OFF -DBUILD_python=OFF -DBUILD_TOOLS=OFF)
}

# sanitizer_skips WHAT: the tests that cannot run with it, as GoogleTest's filter has them behind its "-".
sanitizer_skips() {
  local -a names=(
    # Bounds the address space, of which a sanitizer takes terabytes for itself.
    NetBadInput.SaysHowManyBytesWereRefused
  )
  # Minutes each: nothing but arithmetic of kernels, most of them compiled without (cmake/Kernels.cmake), and
  # the tests' own sums. Other tests run the same kernels in threads.
  case $1 in
    *thread*) names+=('Sets/Int8Convolutions.AreExact*' 'Sets/Int8Rescaling.IsExact*'
      'Sets/PackedConvolutions.AgreeWithTheDefinition*' Reorders.AreThreeLoops) ;;
  esac
  local IFS=:
  echo "${names[*]}"
}

# What the sanitizers' runtimes are told; a report ends the process.
sanitizer_environment() {
  local folder=$root/scripts/tests/lib
  # Tests ask for more memory than there is.
  export ASAN_OPTIONS=detect_leaks=1:strict_string_checks=1:allocator_may_return_null=1
  export LSAN_OPTIONS=suppressions=$folder/leaks.supp:print_suppressions=0
  export UBSAN_OPTIONS=halt_on_error=1:print_stacktrace=1
  # Of libraries that are compiled without it ThreadSanitizer sees some accesses, but not what orders them.
  export TSAN_OPTIONS=ignore_noninstrumented_modules=1:suppressions=$folder/threads.supp
}
