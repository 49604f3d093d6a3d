/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/event_text.h"

#include <inttypes.h>

#include "pt/packet.h"

#define HEX "0x%" PRIx64

void pt_event_format(struct buf *out, const struct pt_event *e)
{
	buf_printf(out, "%s ", pt_event_names[e->kind]);
	switch ((enum pt_event_kind)e->kind) {
	case PT_EV_BRANCH:
		buf_printf(out, HEX " => " HEX, e->branch.from, e->branch.to);
		break;
	case PT_EV_TX:
		buf_printf(out, HEX " %s", e->tx.ip, e->tx.is_begin ? "begins" : "ends");
		break;
	case PT_EV_PTWRITE:
		buf_printf(out, HEX " value " HEX, e->ptwrite.ip, e->ptwrite.value);
		break;
	case PT_EV_CBR:
		buf_printf(out, HEX " ratio %u", e->cbr.ip, e->cbr.ratio);
		break;
	case PT_EV_POWER:
		buf_printf(out, HEX " %s " HEX, e->power.ip, pt_type_names[e->power.type],
			   e->power.payload);
		break;
	case PT_EV_CFE:
		buf_printf(out, HEX " type %u vector " HEX, e->cfe.ip, e->cfe.type, e->cfe.vector);
		break;
	case PT_EV_EVD:
		buf_printf(out, "type %u payload " HEX, e->evd.type, e->evd.payload);
		break;
	case PT_EV_TRIG:
		buf_printf(out, HEX " trbv 0x%x payload " HEX, e->trig.ip, e->trig.trbv,
			   e->trig.payload);
		break;
	case PT_EV_INTERRUPTS:
		buf_printf(out, HEX " => " HEX " %s", e->interrupts.from, e->interrupts.to,
			   e->interrupts.is_on ? "on" : "off");
		break;
	case PT_EV_PSB:
		buf_printf(out, HEX " offset " HEX, e->psb.ip, e->psb.offset);
		break;
	case PT_EV_ERROR:
		buf_printf(out, HEX " offset " HEX ": %s", e->error.ip, e->error.offset,
			   pt_error_texts[e->error.reason]);
		break;
	case PT_EV_UNVERIFIED:
		buf_printf(out, "insns %" PRIu64 " offset " HEX "%s", e->unverified.insns,
			   e->unverified.offset, e->unverified.is_confirmed ? " confirmed" : "");
		break;
	case PT_EV_PLACE:
		buf_printf(out, HEX, e->place.ip);
		break;
	case PT_EV_CR3:
		buf_printf(out, HEX "%s", e->cr3.value, e->cr3.is_guest ? " guest" : "");
		break;
	case PT_EV_VMCS:
		buf_printf(out, HEX, e->vmcs.address);
		break;
	case PT_EV_WIDTH:
		buf_printf(out, "%u", e->width.bits);
		break;
	case PT_EV_ITEM:
		buf_printf(out, "group %u number %u value " HEX "%s", e->item.group, e->item.number,
			   e->item.value, e->item.is_32_bit ? " of 32 bits" : "");
		break;
	case PT_EV_PEBS:
		buf_printf(out, HEX, e->pebs.ip);
		break;
	case PT_EV_TIME:
		buf_printf(out, "insns %" PRIu64, e->time.insns_at_packet);
		break;
	case PT_EV_TIME_AHEAD:
		buf_printf(out, "tsc %" PRIu64 " insns %" PRIu64, e->time_ahead.tsc,
			   e->time_ahead.insns_at_packet);
		break;
	case PT_EV_RESUME:
		buf_printf(out, HEX " tsc %" PRIu64 " ticks %u", e->resume.ip, e->resume.tsc,
			   e->resume.ticks);
		break;
	case N_PT_EVENTS:
		break;
	}
}
