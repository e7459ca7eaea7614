# SPDX-License-Identifier: Apache-2.0
#
# Tests of the build's own parts; each directory of tests declares its suite
# in the fragment of the part that it tests, or here.
