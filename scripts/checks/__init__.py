# SPDX-License-Identifier: Apache-2.0
"""What the gates scripts/check-* are made of."""
