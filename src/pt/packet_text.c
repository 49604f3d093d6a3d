/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "pt/packet_text.h"

#include <ctype.h>
#include <assert.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/*
 * The text behind a packet's name: literal characters, and fields:
 *   %p payload, hexadecimal   %d payload, decimal   %0 %1 its bit 0, bit 1
 *   %c count, hexadecimal     %2 count, at least two hexadecimal digits   %n count, decimal
 *   %f flag                   %s size of a block's items
 * NULL: printed and parsed by hand (TNT, addresses).
 */
static const char *const formats[N_PT_TYPES] = {
	[PT_PAD] = "",
	[PT_PIP] = "%p (NR=%f)",
	[PT_VMCS] = "%p",
	[PT_TSC] = "%p",
	[PT_TMA] = "CTC %p FC %c",
	[PT_MTC] = "%p",
	[PT_CYC] = "%p",
	[PT_CBR] = "%p",
	[PT_MODE_EXEC] = "IF:%n %d",
	[PT_MODE_TSX] = "TXAbort:%1 InTX:%0",
	[PT_PSB] = "",
	[PT_PSBEND] = "",
	[PT_OVF] = "",
	[PT_TRACESTOP] = "",
	[PT_MNT] = "%p",
	[PT_PTWRITE] = "%p IP:%f",
	[PT_EXSTOP] = "IP:%f",
	[PT_MWAIT] = "%p",
	[PT_PWRE] = "%p",
	[PT_PWRX] = "%p",
	[PT_BBP] = "SZ %s-byte Type %p",
	[PT_BIP] = "ID %2 Value %p",
	[PT_BEP] = "IP:%f",
	[PT_CFE] = "IP:%f Type %2 Vector %p",
	[PT_EVD] = "Type %2 Payload %p",
	[PT_TRIG] = "IP:%f TRBV %2 Payload %p",
};

static bool is_ip_packet(unsigned int type)
{
	return type == PT_TIP || type == PT_TIP_PGE || type == PT_TIP_PGD || type == PT_FUP;
}

static void print_field(struct buf *out, const struct pt_packet *p, char field)
{
	switch (field) {
	case 'p':
		buf_printf(out, "0x%" PRIx64, p->payload);
		break;
	case 'd':
		buf_printf(out, "%" PRIu64, p->payload);
		break;
	case '0':
	case '1':
		buf_printf(out, "%u", (unsigned int)(p->payload >> (field - '0') & 1));
		break;
	case 'c':
		buf_printf(out, "0x%x", p->count);
		break;
	case '2':
		buf_printf(out, "0x%02x", p->count);
		break;
	case 'n':
		buf_printf(out, "%u", p->count);
		break;
	case 'f':
		buf_printf(out, "%d", p->flag);
		break;
	case 's':
		buf_printf(out, "%d", p->count ? 4 : 8);
		break;
	}
}

static void print_tnt(struct buf *out, const struct pt_packet *p)
{
	for (unsigned int i = 0; i < p->count; i++)
		buf_u8(out, p->payload >> (63 - i) & 1 ? 'T' : 'N');
	buf_printf(out, " (%u)", p->count);
}

/* What perf takes apart of a payload; it is not parsed again. */
static void print_parts(struct buf *out, const struct pt_packet *p)
{
	unsigned int v = (unsigned int)p->payload;

	if (p->type == PT_MWAIT)
		buf_printf(out, " Hints 0x%x Extensions 0x%x", v & 0xff,
			   (unsigned int)(p->payload >> 32) & 3);
	else if (p->type == PT_PWRE)
		buf_printf(out, " HW:%u CState:%u Sub-CState:%u", v >> 7 & 1, v >> 12 & 0xf,
			   v >> 8 & 0xf);
	else if (p->type == PT_PWRX)
		buf_printf(out, " Last CState:%u Deepest CState:%u Wake Reason 0x%x", v >> 4 & 0xf,
			   v & 0xf, v >> 8 & 0xf);
}

void pt_packet_print(struct buf *out, const struct pt_packet *p)
{
	const char *format = formats[p->type];

	buf_str(out, pt_type_names[p->type]);
	if (is_ip_packet(p->type)) {
		if (p->count == PT_IP_NONE)
			buf_str(out, " no ip");
		else
			buf_printf(out, " 0x%" PRIx64, p->payload);
		return;
	}
	if (!format || *format)
		buf_u8(out, ' ');
	if (!format) {
		print_tnt(out, p);
		return;
	}
	for (; *format; format++)
		if (*format == '%')
			print_field(out, p, *++format);
		else
			buf_u8(out, (uint8_t)*format);
	print_parts(out, p);
}

size_t pt_dump_line(struct buf *out, const uint8_t *at, const uint8_t *end, uint64_t offset,
		    enum pt_block *block)
{
	static const char hex[] = "0123456789abcdef";
	struct pt_packet p;
	int r = pt_packet_read(at, end, block, &p);
	size_t size = r > 0 ? (size_t)r : 1;
	uint8_t line[3 * PT_PACKET_MAX];

	assert(at < end);
	while (r > 0 && size < 8 && at + size < end && at[size] == 0)
		size++;
	memset(line, ' ', sizeof(line));
	for (size_t i = 0; i < size; i++) {
		line[3 * i + 1] = (uint8_t)hex[at[i] >> 4];
		line[3 * i + 2] = (uint8_t)hex[at[i] & 0xf];
	}
	buf_printf(out, ".  %08" PRIx64 ": ", offset);
	buf_bytes(out, line, sizeof(line));
	buf_u8(out, ' ');
	if (r > 0)
		pt_packet_print(out, &p);
	else
		buf_str(out, "Bad packet!");
	buf_u8(out, '\n');
	return size;
}

static void put(struct buf *out, uint64_t v, unsigned int size)
{
	buf_bytes(out, &v, size);
}

static void write_tnt(struct buf *out, const struct pt_packet *p)
{
	uint64_t bits = p->count ? p->payload >> (64 - p->count) : 0;
	uint64_t with_stop = 1ULL << p->count | bits;

	if (p->count && p->count <= 6 && p->size != 8) {
		buf_u8(out, (uint8_t)(with_stop << 1));
		return;
	}
	put(out, 0xa302, 2);
	put(out, with_stop, 6);
}

static void write_ip(struct buf *out, unsigned int opcode, const struct pt_packet *p)
{
	static const uint8_t bytes[8] = { 0, 2, 4, 6, 6, 0, 8, 0 };

	buf_u8(out, (uint8_t)(opcode | (p->count & 7u) << 5));
	put(out, p->payload, bytes[p->count & 7]);
}

static void write_cyc(struct buf *out, uint64_t cycles)
{
	uint64_t rest = cycles >> 5;

	buf_u8(out, (uint8_t)(3 | (rest ? 4 : 0) | (cycles & 0x1f) << 3));
	for (; rest; rest >>= 7)
		buf_u8(out, (uint8_t)((rest & 0x7f) << 1 | (rest >> 7 ? 1 : 0)));
}

/* Opcode bytes, then the low bytes of the payload. */
static void write_plain(struct buf *out, uint32_t opcode, unsigned int opcode_size,
			uint64_t payload, unsigned int size)
{
	put(out, opcode, opcode_size);
	put(out, payload, size);
}

static void write_mode(struct buf *out, const struct pt_packet *p)
{
	uint8_t low = p->payload == 64 ? 1 : p->payload == 32 ? 2 : 0;

	buf_u8(out, 0x99);
	buf_u8(out, p->type == PT_MODE_TSX ? (uint8_t)(0x20 | (p->payload & 3))
					   : (uint8_t)(low | (p->count & 1) << 2));
}

static void write_trig(struct buf *out, const struct pt_packet *p)
{
	buf_u8(out, 0xd9);
	buf_u8(out, (uint8_t)(p->flag << 7 | (p->payload >> 16 & 0x60)));
	buf_u8(out, (uint8_t)p->count);
	if (p->payload & PT_TRIG_ICNTV)
		put(out, p->payload, 2);
}

static void write_tma(struct buf *out, const struct pt_packet *p)
{
	write_plain(out, 0x7302, 2, p->payload, 2);
	buf_u8(out, p->flag); /* reserved: one of the bits that the flag stands for */
	put(out, p->count & 0x1ff, 2);
}

void pt_packet_write(struct buf *out, const struct pt_packet *p)
{
	bool is_long = p->size == 10 || p->payload >> 32;

	switch ((enum pt_type)p->type) {
	case PT_PAD:
		return buf_u8(out, 0);
	case PT_TNT:
		return write_tnt(out, p);
	case PT_TIP:
		return write_ip(out, 0x0d, p);
	case PT_TIP_PGE:
		return write_ip(out, 0x11, p);
	case PT_TIP_PGD:
		return write_ip(out, 0x01, p);
	case PT_FUP:
		return write_ip(out, 0x1d, p);
	case PT_PIP:
		return write_plain(out, 0x4302, 2, p->payload << 1 | p->flag, 6);
	case PT_VMCS:
		return write_plain(out, 0xc802, 2, p->payload, 5);
	case PT_TSC:
		return write_plain(out, 0x19, 1, p->payload, 7);
	case PT_TMA:
		return write_tma(out, p);
	case PT_MTC:
		return write_plain(out, 0x59, 1, p->payload, 1);
	case PT_CYC:
		return write_cyc(out, p->payload);
	case PT_CBR:
		return write_plain(out, 0x0302, 2, p->payload, 2);
	case PT_MODE_EXEC:
	case PT_MODE_TSX:
		return write_mode(out, p);
	case PT_PSB:
		for (int i = 0; i < PT_PSB_SIZE / 2; i++)
			put(out, 0x8202, 2);
		return;
	case PT_PSBEND:
		return put(out, 0x2302, 2);
	case PT_OVF:
		return put(out, 0xf302, 2);
	case PT_TRACESTOP:
		return put(out, 0x8302, 2);
	case PT_MNT:
		return write_plain(out, 0x88c302, 3, p->payload, 8);
	case PT_PTWRITE:
		return write_plain(out, 0x1202 | (is_long ? 0x2000 : 0) | (p->flag ? 0x8000 : 0), 2,
				   p->payload, is_long ? 8 : 4);
	case PT_EXSTOP:
		return put(out, p->flag ? 0xe202 : 0x6202, 2);
	case PT_MWAIT:
		return write_plain(out, 0xc202, 2, p->payload, 8);
	case PT_PWRE:
		return write_plain(out, 0x2202, 2, p->payload, 2);
	case PT_PWRX:
		return write_plain(out, 0xa202, 2, p->payload, 5);
	case PT_BBP:
		return write_plain(out, 0x6302, 2, (p->payload & 0x1f) | (p->count ? 0x80 : 0), 1);
	case PT_BIP:
		return write_plain(out, 4 | (p->count & 0x1fu) << 3, 1, p->payload,
				   p->size == 5 ? 4 : 8);
	case PT_BEP:
		return put(out, p->flag ? 0xb302 : 0x3302, 2);
	case PT_CFE:
		return write_plain(out, 0x1302, 2,
				   (p->count & 0x1fu) | (p->flag ? 0x80 : 0) |
					   (p->payload & 0xff) << 8,
				   2);
	case PT_EVD:
		write_plain(out, 0x5302, 2, p->count & 0x3f, 1);
		return put(out, p->payload, 8);
	case PT_TRIG:
		return write_trig(out, p);
	case N_PT_TYPES:
		break;
	}
}

/* A number at *text, which is moved behind it. */
static bool take_number(const char **text, uint64_t *out)
{
	char *end;

	if (!isdigit((unsigned char)**text))
		return false;
	errno = 0;
	*out = strtoull(*text, &end, 0);
	*text = end;
	return errno == 0;
}

static bool take_word(const char **text, const char *word)
{
	size_t n = strlen(word);

	if (strncmp(*text, word, n) != 0)
		return false;
	*text += n;
	return true;
}

static bool parse_field(const char **text, char field, struct pt_packet *p)
{
	uint64_t v;

	if (!take_number(text, &v))
		return false;
	switch (field) {
	case 'p':
	case 'd':
		p->payload = v;
		return true;
	case '0':
	case '1':
		p->payload |= (v & 1) << (field - '0');
		return true;
	case 'f':
		p->flag = v;
		return v <= 1;
	case 's':
		p->count = v == 4;
		return v == 4 || v == 8;
	default:
		p->count = (uint16_t)v;
		return v <= UINT16_MAX;
	}
}

static bool parse_fields(const char *text, struct pt_packet *p)
{
	for (const char *format = formats[p->type]; *format; format++) {
		if (*format == '%') {
			if (!parse_field(&text, *++format, p))
				return false;
		} else if (*text++ != *format) {
			return false;
		}
	}
	return true;
}

static bool parse_ip(const char *text, struct pt_packet *p)
{
	uint64_t form = PT_IP_64;

	if (take_word(&text, "no ip"))
		return true;
	if (!take_number(&text, &p->payload))
		return false;
	if ((int64_t)(p->payload << 16) >> 16 == (int64_t)p->payload)
		form = PT_IP_48_SIGNED;
	if (take_word(&text, "/") && (!take_number(&text, &form) || form > PT_IP_64 || form == 5))
		return false;
	p->count = (uint16_t)form;
	return *text == '\0';
}

static bool parse_tnt(const char *text, struct pt_packet *p)
{
	for (; *text == 'T' || *text == 'N'; text++) {
		if (p->count == 47)
			return false;
		p->payload |= (uint64_t)(*text == 'T') << (63 - p->count++);
	}
	return *text == '\0' || *text == ' ';
}

static bool parse_packet(const char *line, struct pt_packet *p)
{
	size_t name = strcspn(line, " ");
	const char *rest = line + name + strspn(line + name, " ");

	*p = (struct pt_packet){ .type = N_PT_TYPES };
	if (strncmp(line, "TNT64", 5) == 0)
		*p = (struct pt_packet){ .type = PT_TNT, .size = 8 };
	for (uint8_t i = 0; i < N_PT_TYPES; i++)
		if (strlen(pt_type_names[i]) == name && strncmp(line, pt_type_names[i], name) == 0)
			p->type = i;
	if (p->type == N_PT_TYPES)
		return false;
	if (p->type == PT_TNT)
		return parse_tnt(rest, p);
	return is_ip_packet(p->type) ? parse_ip(rest, p) : parse_fields(rest, p);
}

int pt_text_write(struct buf *out, const char *text, struct error *err)
{
	bool items_of_4 = false;

	for (int number = 1; *text; number++) {
		size_t n = strcspn(text, "\n"), used = strcspn(text, "#\n"), skip;
		cleanup(free_at_exit) char *line = NULL;
		struct pt_packet p;

		skip = strspn(text, " \t");
		while (used > skip && isspace((unsigned char)text[used - 1]))
			used--;
		line = used > skip ? xstrndup(text + skip, used - skip) : NULL;
		text += n + (text[n] == '\n');
		if (!line)
			continue;
		if (!parse_packet(line, &p))
			return error_set(err, -EINVAL, "line %d: '%s' is no packet", number, line);
		if (p.type == PT_BBP)
			items_of_4 = p.count;
		if (p.type == PT_BIP)
			p.size = items_of_4 ? 5 : 9;
		pt_packet_write(out, &p);
	}
	return 0;
}
