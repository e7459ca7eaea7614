# SPDX-License-Identifier: Apache-2.0
#
# The Debian packages, installed and started.

CHECK_SUITES += package
package_CMD := tests/package/system build/deb
package_FORMAT := tap
package_TIMEOUT := 180
package_DEPS := deb
