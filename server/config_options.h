/* The table of sluiced's options: what the command line, the environment (SLUICED_…), the file of
 * --config, --help, the man page and the completion script all go by. */
#ifndef CONFIG_OPTIONS_H
#define CONFIG_OPTIONS_H

#include "base/options.h"

extern const struct options_command config_options;

/* The option of that name, if it may stand in a file or in the environment too, else NULL. */
const struct options_spec *config_options_find(struct slice name);

#endif
