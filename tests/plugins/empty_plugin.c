/* SPDX-License-Identifier: Apache-2.0 */
/* a shared library that exports no ingot_plugin() */
int ingot_plugin_is_elsewhere(void);
int ingot_plugin_is_elsewhere(void) { return 0; }
