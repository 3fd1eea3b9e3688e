/*
 * uar/uar.h: all of the stable API, and with it the doors of uar/sys. Only uar/bert.h, of libuar-bert, is not among them.
 *
 * An app fills up to four structs (persistence, model, sink, tools), hands them to a builder and starts runs. Since 0.1.
 */
#ifndef UAR_UAR_H
#define UAR_UAR_H

#include <uar/attachments.h>
#include <uar/base.h>
#include <uar/event.h>
#include <uar/lifecycle.h>
#include <uar/memory.h>
#include <uar/memory_async.h>
#include <uar/memory_graph.h>
#include <uar/memory_stream.h>
#include <uar/model.h>
#include <uar/persistence.h>
#include <uar/records.h>
#include <uar/run.h>
#include <uar/runtime.h>
#include <uar/store_care.h>
#include <uar/sys/completion.h>

#endif
