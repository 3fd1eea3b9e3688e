/* uar: an agent runtime on the command line. Parses, dispatches, decides the exit code. */
#include "app.h"
#include "commands.h"
#include "output.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

static int not_in_this_version(const app *a) {
    const command *c = a->args.command;
    return report(a, UAR_E_UNSUPPORTED, NULL, "'uar %s%s%s' is not in this version", c->name,
                  c->verb != NULL ? " " : "", c->verb != NULL ? c->verb : "");
}

static int run(app *a, int argc, char **argv) {
    args_fault fault;
    if (!args_parse(&a->args, &fault, argc, argv)) {
        a->json = args_has(&a->args, "json");
        return report_usage(a, fault.hint, "%s", fault.message);
    }
    if (a->args.help) {
        help_print(a->args.command);
        return CODE_OK;
    }
    if (a->args.version) {
        printf("uar %d.%d.%d (libuar %s)\n", UAR_VERSION_MAJOR, UAR_VERSION_MINOR, UAR_VERSION_PATCH, uar_version());
        return CODE_OK;
    }
    int code = app_init(a);
    if (code != CODE_OK) return code;
    return a->args.command->run != NULL ? a->args.command->run(a) : not_in_this_version(a);
}

/* Where a standard descriptor is closed the next file opened would take its place, and output would go into a store.
 * Fill the places with something that can't be written. */
static void fill_descriptors(void) {
    int fd = 0;
    do {
        fd = open("/dev/null", O_RDONLY);
    } while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0) close(fd);
}

int main(int argc, char **argv) {
    app a = { 0 };
    fill_descriptors();
    signal(SIGPIPE, SIG_IGN);
    int code = output_close(&a, run(&a, argc, argv));
    if (fflush(stdout) != 0 && code == CODE_OK) code = CODE_FAILED;
    args_free(&a.args);
    return code;
}
