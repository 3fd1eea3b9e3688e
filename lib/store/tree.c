/*
 * An AVL tree whose nodes live inside their items. Owns no memory.
 * Invariants: for each node all of child[0] comes before it and all of child[1] behind; the heights of the two differ by at
 * most one; `up` of a child is its parent.
 */
#include "store/tree.h"

#include <assert.h>

void tree_init(tree *t, tree_compare compare) {
    assert(compare != NULL);
    *t = (tree){ .compare = compare };
}

static int height(const tree_node *n) {
    return n != NULL ? n->height : 0;
}

static void measure(tree_node *n) {
    int a = height(n->child[0]);
    int b = height(n->child[1]);
    n->height = (a > b ? a : b) + 1;
}

/* Where the pointer to `n` stands. */
static tree_node **slot_of(tree *t, const tree_node *n) {
    if (n->up == NULL) return &t->root;
    return &n->up->child[n->up->child[1] == n];
}

static void hang(tree_node **slot, tree_node *up, tree_node *n) {
    *slot = n;
    if (n != NULL) n->up = up;
}

/* Lift the child on `side` above n; it is returned. */
static tree_node *rotate(tree *t, tree_node *n, int side) {
    tree_node **slot = slot_of(t, n);
    tree_node *up = n->up;
    tree_node *lifted = n->child[side];
    hang(&n->child[side], n, lifted->child[!side]);
    hang(&lifted->child[!side], lifted, n);
    hang(slot, up, lifted);
    measure(n);
    measure(lifted);
    return lifted;
}

static tree_node *balance(tree *t, tree_node *n) {
    int lean = height(n->child[1]) - height(n->child[0]);
    if (lean >= -1 && lean <= 1) return n;
    int side = lean > 0;
    tree_node *tall = n->child[side];
    if (height(tall->child[!side]) > height(tall->child[side])) rotate(t, tall, !side);
    return rotate(t, n, side);
}

static void balance_upward(tree *t, tree_node *n) {
    for (; n != NULL; n = n->up) {
        measure(n);
        n = balance(t, n);
    }
}

void tree_insert(tree *t, tree_node *node, void *item) {
    assert(item != NULL);
    tree_node *up = NULL;
    tree_node **slot = &t->root;
    while (*slot != NULL) {
        up = *slot;
        int c = t->compare(item, up->item);
        assert(c != 0);
        slot = &up->child[c > 0];
    }
    *node = (tree_node){ .up = up, .height = 1, .item = item };
    *slot = node;
    balance_upward(t, up);
}

static tree_node *first_of(tree_node *n) {
    while (n->child[0] != NULL)
        n = n->child[0];
    return n;
}

void tree_remove(tree *t, tree_node *node) {
    tree_node *from; /* lowest node whose height may have changed */
    if (node->child[0] == NULL || node->child[1] == NULL) {
        from = node->up;
        hang(slot_of(t, node), node->up, node->child[node->child[0] == NULL]);
    } else {
        tree_node *next = first_of(node->child[1]);
        from = next->up == node ? next : next->up;
        hang(slot_of(t, next), next->up, next->child[1]);
        hang(slot_of(t, node), node->up, next);
        hang(&next->child[0], next, node->child[0]);
        hang(&next->child[1], next, node->child[1]);
    }
    *node = (tree_node){ 0 };
    balance_upward(t, from);
}

void *tree_find(const tree *t, const void *key) {
    const tree_node *n = t->root;
    while (n != NULL) {
        int c = t->compare(key, n->item);
        if (c == 0) return n->item;
        n = n->child[c > 0];
    }
    return NULL;
}

tree_node *tree_behind(const tree *t, const void *key) {
    tree_node *best = NULL;
    tree_node *n = t->root;
    while (n != NULL) {
        bool is_behind = t->compare(n->item, key) > 0;
        if (is_behind) best = n;
        n = n->child[!is_behind];
    }
    return best;
}

tree_node *tree_next(const tree_node *node) {
    if (node->child[1] != NULL) return first_of(node->child[1]);
    while (node->up != NULL && node->up->child[1] == node)
        node = node->up;
    return node->up;
}
