/*
 * An ordered set of nodes that live inside their items (AVL). Inserting and removing need no memory and can't fail, which
 * is what makes an all-or-nothing commit simple. Not thread-safe.
 */
#ifndef UAR_LIB_STORE_TREE_H
#define UAR_LIB_STORE_TREE_H

#include <stdbool.h>
#include <stddef.h>

typedef struct tree_node {
    struct tree_node *up, *child[2]; /* smaller, larger */
    int height;                      /* of the subtree: 1 for a leaf */
    void *item;                      /* what this node is part of; set by tree_insert */
} tree_node;

/* Below 0 if `a` comes before `b`. Total order over items and over keys that look like items. */
typedef int (*tree_compare)(const void *a, const void *b);

typedef struct tree {
    tree_node *root;
    tree_compare compare;
} tree;

void tree_init(tree *t, tree_compare compare);
/* The place must be free: no item equal to `item` is in the tree. */
void tree_insert(tree *t, tree_node *node, void *item);
void tree_remove(tree *t, tree_node *node);
/* The item equal to `key`, or NULL. */
void *tree_find(const tree *t, const void *key);
/* The first node behind `key`, or NULL. */
tree_node *tree_behind(const tree *t, const void *key);
/* The node after this one, or NULL. */
tree_node *tree_next(const tree_node *node);

#endif
