/* Makes a chosen allocation or system call of the library fail. The definitions of malloc, operator
 * new, open and others in this executable replace those of the C and C++ libraries in the whole
 * process, so the library needs no hooks. Calls from BLAS, OpenMP and the dynamic linker never
 * fail, because these libraries end the process if an allocation fails. */
#ifndef MERCER_TESTS_FAULTS_H
#define MERCER_TESTS_FAULTS_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

enum { ALLOCATION, CALL };             /* kinds */
enum { SHORT_COUNT = -1, DEPTH = 40 }; /* SHORT_COUNT, instead of an errno: transfer half of the bytes */

struct fault {
    int kind;
    int lasting; /* 1: all later ones fail, too, until the library's function returns */
    int64_t nth; /* number of the allocation or call that fails, counted from 1; 0: none */
    int error;   /* the errno of a failing system call, or SHORT_COUNT */
    int reserved;
};

void faults_begin(void);                    /* must be called once, before the other functions */
void faults_arm(const struct fault *fault); /* sets the fault and restarts the counts at 0 */
/* Switches faults on or off. They occur only while they are on, so tests switch them on for each
 * call to the library. A fault that has occurred ends when faults are switched off. */
void faults_watch(int on);

/* From now on stores the place of each allocation, a hash of its callers, in to[0], to[1], ... up
 * to `room` places. NULL ends this. */
void faults_note_places(uint64_t *to, int64_t room);

/* About the fault since faults_arm: whether it occurred, the name of the function that failed, and
 * the addresses of its callers. */
int faults_met(void);
const char *faults_name(void);
int faults_hid_a_folder(void); /* a call that lists a folder failed, so plugins in it are not found */
int faults_stack(void *const **addresses);
int64_t faults_seen(int kind);

int64_t faults_live(void); /* the number of allocated blocks */
void faults_trace(int on); /* while on, records the stack of each allocation */
void faults_print_lost(void);

/* Called by the replacing functions: returns the errno or SHORT_COUNT with which this call must
 * fail, or 0. */
int faults_strike(int kind, const char *name, const void *caller);

#ifdef __cplusplus
}
#endif
#endif
