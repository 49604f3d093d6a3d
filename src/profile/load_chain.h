/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Nodes of a segment, with their callers, on their way into the profile's tree. Inside profile/. */
#pragma once

#include "profile/load_part.h"

/* How a stack uses a node: as the innermost frame, or as a caller. A node may have both uses. */
enum { USE_LEAF = 1, USE_CALLER = 2 };

/* The profile's image of a node, and the offset where a node is looked up (profile.h). */
uint32_t load_node_image(const struct load_part *part, uint32_t node);
uint64_t load_node_offset(const struct load_part *part, uint32_t node, int use);

/* The functions of a node, as index_frames(). */
const uint32_t *load_node_frames(struct profile *p, const struct load_part *part, uint32_t node,
				 int use, uint32_t *n);

/* How a caller is used by one of its callees: an interrupted instruction as a leaf (profile.h). */
int load_caller_use(const struct profile *p, const struct load_part *part, uint32_t caller,
		    uint32_t node);

/* How the frame is used at which a sample counts that has `node` as its innermost frame. */
int load_leaf_use(const struct load_part *part, uint32_t node);

/* The profile's node for the row's innermost frame, which is added with its callers if it is new.
 */
uint32_t load_add_chain(struct profile *p, struct load_part *part, const struct count_row *row);

/* The same when all is loaded; 0: no such row was loaded. */
uint32_t load_known_leaf(const struct profile *p, const struct load_part *part,
			 const struct count_row *row);

/* Marks the callers of all nodes that are used. Then adds each node that is used. */
void load_mark_callers(const struct profile *p, struct load_part *part);
void load_add_nodes(struct profile *p, struct load_part *part);
