/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/flow_place.h"

void pt_flow_forget_nodes(struct pt_flow *f)
{
	for (int i = 0; i < PT_STACK; i++)
		f->returns.at[i].node = 0;
}

void pt_flow_clear_stack(struct pt_flow *f)
{
	f->returns.top = f->returns.bottom = 0;
}

void pt_flow_forget_fup(struct pt_flow *f)
{
	f->fup_tx = f->fup_ptwrite = f->fup_power = f->fup_event = f->fup_block = f->fup_mode =
		f->event_of_branch = false;
}

void pt_flow_stand_nowhere(struct pt_flow *f)
{
	f->node = 0;
	f->quick_ip = 0;
	f->tnt = (struct pt_tnt){ 0 };
	f->seeks_ip = f->is_async = f->after_ovf = f->in_tx = f->tx_abort = false;
	f->has_items = false;
	pt_flow_forget_fup(f);
	pt_flow_clear_stack(f);
}

void pt_flow_arrive(struct pt_flow *f, uint64_t ip)
{
	if (f->config.quick) {
		f->quick_ip = ip;
		return;
	}
	if (f->width != f->code->width) {
		f->code->width = f->width;
		pt_code_forget(f->code);
		for (int i = 0; i < PT_STACK; i++)
			f->returns.at[i].node = 0;
	}
	f->node = pt_code_at(f->code, ip);
}
