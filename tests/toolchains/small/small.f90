! SPDX-License-Identifier: GPL-2.0-or-later
module shapes
contains
  pure integer function area(side, scale)
    integer, intent(in) :: side, scale
    area = side * scale * side
  end function
  subroutine every(list, total)
    integer, intent(in) :: list(:)
    integer, intent(inout) :: total
    integer :: i
    do i = 1, size(list)
      total = total + area(list(i), 3)
    end do
  end subroutine
end module
