! SPDX-License-Identifier: GPL-2.0-or-later
module shapes
  implicit none
  type :: square
    real(8) :: side
  contains
    procedure :: area
  end type
contains
  function area(this, scale) result(r)
    class(square), intent(in) :: this
    real(8), intent(in) :: scale
    real(8) :: r
    integer :: i
    r = 0
    do i = 1, 5000
      r = r + sin(this%side * scale * i)
    end do
  end function
  subroutine every(list, total)
    type(square), intent(in) :: list(:)
    real(8), intent(inout) :: total
    integer :: i
    do i = 1, size(list)
      total = total + list(i)%area(3d0)
    end do
  end subroutine
end module

program hot
  use shapes
  implicit none
  type(square) :: list(2)
  real(8) :: total, started, now, seconds
  character(len=16) :: argument
  seconds = 0.5d0
  if (command_argument_count() > 0) then
    call get_command_argument(1, argument)
    read (argument, *) seconds
  end if
  list(1)%side = 1.5d0
  list(2)%side = 2.5d0
  total = 0
  call cpu_time(started)
  do
    call every(list, total)
    call cpu_time(now)
    if (now - started > seconds) exit
  end do
  print *, total
end program
