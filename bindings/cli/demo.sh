#!/bin/sh
# What `./dev demo` runs: demo.sh BUILD
set -eu
exec "${1:?the build directory}/bindings/cli/mercer" demo -o "$1/demo"
