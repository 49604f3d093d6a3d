--  SPDX-License-Identifier: GPL-2.0-or-later
package body Shapes is
   function Area (S : Square; Scale : Integer) return Integer is (S.Side * Scale);
   procedure Every (N : Integer; Total : in out Integer) is
      One : constant Square := (Side => N);
      procedure Add is
      begin
         Total := Total + Area (One, 3);
      end Add;
   begin
      Add;
      Add;
   end Every;
end Shapes;
