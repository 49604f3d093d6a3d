/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "store/column.h"
#include "store/sort.h"

/* Any 64-bit number, all magnitudes alike. */
static uint64_t random_number(void)
{
	uint64_t v = 0;

	for (int i = 0; i < 5; i++)
		v = v << 15 ^ (uint64_t)(rand() & 0x7fff);
	return v >> (rand() % 64);
}

static void check_column(const uint64_t *numbers, size_t n)
{
	struct packer *packer = packer_new();
	struct unpacker *unpacker = unpacker_new();
	struct column column = { 0 };
	struct column_reader reader;
	struct buf b = { 0 };
	struct reader r;

	for (size_t i = 0; i < n; i++)
		column_put(&column, numbers[i]);
	column_write(&column, packer, &b);
	for (size_t i = 0; i < n; i++)
		column_put_signed(&column, (int64_t)numbers[i]);
	column_write(&column, packer, &b);
	r = reader_over(b.data, b.len);
	column_open(&reader, unpacker, &r, n);
	for (size_t i = 0; i < n; i++)
		assert_true(column_get(&reader) == numbers[i]);
	assert_false(reader.bad);
	column_get(&reader); /* one too many */
	assert_true(reader.bad);
	column_close(&reader);
	column_open(&reader, unpacker, &r, n);
	for (size_t i = 0; i < n; i++)
		assert_true(column_get_signed(&reader) == (int64_t)numbers[i]);
	assert_false(reader.bad);
	column_close(&reader);
	assert_int_equal(reader_left(&r), 0);
	column_fini(&column);
	buf_fini(&b);
	packer_free(packer);
	unpacker_free(unpacker);
}

static void numbers_at_the_limits_come_back(void **state)
{
	uint64_t numbers[64 * 3 + 2];
	size_t n = 0;

	(void)state;
	numbers[n++] = 0;
	for (int bit = 0; bit < 64; bit++) {
		numbers[n++] = (1ULL << bit) - 1;
		numbers[n++] = 1ULL << bit;
		numbers[n++] = (1ULL << bit) + 1;
	}
	numbers[n++] = UINT64_MAX;
	check_column(numbers, n);
	check_column(numbers, 1);
	check_column(numbers, 0);
}

static void any_numbers_come_back(void **state)
{
	uint64_t numbers[3000];

	(void)state;
	srand(7);
	for (size_t i = 0; i < ARRAY_SIZE(numbers); i++)
		numbers[i] = random_number();
	check_column(numbers, ARRAY_SIZE(numbers));
}

static void equal_numbers_take_a_few_bytes(void **state)
{
	struct packer *packer = packer_new();
	struct column column = { 0 };
	struct buf b = { 0 };

	(void)state;
	for (int i = 0; i < 100000; i++)
		column_put(&column, 0);
	column_write(&column, packer, &b);
	assert_true(b.len < 8);
	column_fini(&column);
	buf_fini(&b);
	packer_free(packer);
}

static void a_column_of_another_length_is_bad(void **state)
{
	struct packer *packer = packer_new();
	struct unpacker *unpacker = unpacker_new();
	struct column column = { 0 };
	struct column_reader reader;
	struct buf b = { 0 };
	struct reader r;

	(void)state;
	for (int i = 0; i < 100; i++)
		column_put(&column, 0);
	column_write(&column, packer, &b);
	for (size_t n = 99; n <= 101; n++) {
		r = reader_over(b.data, b.len);
		column_open(&reader, unpacker, &r, n);
		assert_int_equal(reader.bad, n != 100);
		column_close(&reader);
	}
	column_fini(&column);
	buf_fini(&b);
	packer_free(packer);
	unpacker_free(unpacker);
}

static void sorting_is_stable(void **state)
{
	static const uint32_t sizes[] = { 0, 1, 2, 31, 32, 33, 500, 4000 };
	struct sort_item items[4000], scratch[4000];

	(void)state;
	srand(3);
	for (size_t s = 0; s < ARRAY_SIZE(sizes); s++) {
		for (uint32_t i = 0; i < sizes[s]; i++)
			items[i] = (struct sort_item){ i % 5 ? random_number() : i % 7, i };
		sort_items(items, scratch, sizes[s]);
		for (uint32_t i = 1; i < sizes[s]; i++) {
			assert_true(items[i - 1].key <= items[i].key);
			if (items[i - 1].key == items[i].key)
				assert_true(items[i - 1].value < items[i].value);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_at_the_limits_come_back),
		cmocka_unit_test(any_numbers_come_back),
		cmocka_unit_test(equal_numbers_take_a_few_bytes),
		cmocka_unit_test(a_column_of_another_length_is_bad),
		cmocka_unit_test(sorting_is_stable),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
