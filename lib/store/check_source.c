/*
 * Layers of the conformance kit: opening, opening again, a second one on the same data.
 * Owns every layer that a source gave, from the moment it gives it: each is destroyed once.
 */
#include <assert.h>

#include "base/struct_in.h"
#include "store/check.h"

static void destroy(const uar_persistence *layer) {
    if (layer->destroy != NULL) layer->destroy(layer->ctx);
}

bool kit_open_layer(uar_persistence *out, kit *k, const uar_persistence *given, const char *what) {
    if (given == NULL) return KIT_FAULT(k, "%s: expected a layer, the source gave none", what);
    uar_error err = UAR_ERROR_INIT;
    uar_persistence layer;
    uar_status status = struct_in(&layer, sizeof layer, given, "uar_persistence", &err);
    bool is_whole = status == UAR_OK && layer.get != NULL && layer.list != NULL && layer.commit != NULL;
    if (is_whole && layer.open != NULL) status = layer.open(layer.ctx, &err);
    if (is_whole && status == UAR_OK) {
        *out = layer;
        return true;
    }
    destroy(&layer);
    if (!is_whole && status == UAR_OK) return KIT_FAULT(k, "%s: the layer lacks get, list or commit", what);
    return KIT_FAULT(k, "%s: expected UAR_OK from `open`, came %s (%s)", what, uar_status_name(status), err.message);
}

void kit_close(kit *k) {
    if (k->has_layer) destroy(&k->layer);
    k->has_layer = false;
}

bool kit_reopen(kit *k) {
    assert(k->source.open_another != NULL && !k->has_other);
    kit_close(k);
    k->has_layer = kit_open_layer(&k->layer, k, k->source.open_another(k->source.ctx), "opening the data again");
    k->is_gone = !k->has_layer;
    return k->has_layer;
}

bool kit_open_other(kit *k) {
    assert(k->source.open_another != NULL && !k->has_other);
    k->has_other = kit_open_layer(&k->other_layer, k, k->source.open_another(k->source.ctx), "opening a second layer");
    return k->has_other;
}

void kit_close_other(kit *k) {
    if (k->has_other) destroy(&k->other_layer);
    k->has_other = false;
}

void kit_swap(kit *k) {
    assert(k->has_layer && k->has_other);
    const uar_persistence layer = k->layer;
    k->layer = k->other_layer;
    k->other_layer = layer;
}
