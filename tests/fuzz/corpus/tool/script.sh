#!/bin/sh
# Say hello.
# @version 1.2
# Tags: a, b
set -e
hello() {
  . ./lib.sh
}
function two { :; }
